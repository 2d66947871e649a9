"""How a nest is computed: the plan, the primitives that change it, what a program asks for, and the cost model."""
