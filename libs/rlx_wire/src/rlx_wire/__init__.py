"""The contracts of RLX: schemas, protos, the artifact manifest and the native ABI."""
