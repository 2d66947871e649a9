"""ONNX's own backend tests, run by the interpreter and by compiled code: `make conformance`.

`backend` is the backend that they drive, `suite` runs them one by one and says what came of each, `__main__` prints and
writes the counts. What a pass means is said in `backend`.
"""
