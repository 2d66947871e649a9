"""EfficientNet-Lite0, an ImageNet classifier, in RLX: from a checkpoint to names for your photos.

Run its parts from the root of the repository, for example `python -m examples.efficientnet_lite0.convert`.
"""
