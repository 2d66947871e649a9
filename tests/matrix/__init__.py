"""Every op family and the example models on every target: `make matrix`.

`cells` compiles one family or model for one target, runs it where something here can, and says what came of it;
`__main__` fills the whole matrix, prints it and writes `build/reports/matrix.json`.
"""
