"""From tensor expressions to loop nests: physical reads, the plan of a nest, and the nest itself."""
