    .section .model, "a"
    .balign 64
    .global rlx_weights, rlx_pictures, rlx_pictures_end
rlx_weights:
    .incbin "weights.bin"
    .balign 64
rlx_pictures:
    .incbin "pictures.bin"
rlx_pictures_end:
