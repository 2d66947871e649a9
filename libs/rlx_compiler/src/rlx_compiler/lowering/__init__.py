"""From tensor expressions to loop nests. Every op goes this way; none has code of its own here.

A node's expression over the module's values (`expressions`) is rewritten for the order in memory (`storage`), its
neighbouring axes are joined (`collapse`), a plan is chosen for it (`rlx_compiler.schedule`), constants are put in the
order that the plan reads (`packing`), and the plan becomes loops (`nest`): guards move into loop bounds (`guards`) or
cut an axis (`segments`), sums get accumulators (`sums`), and the innermost tile shares what its places have in common
(`leaf`), with scalars and vectors as `values` and addresses as `indices`. `kernels` does this for one stage, `module`
for a whole module, with memory for its values.
"""
