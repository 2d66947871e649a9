"""The front door for inference: a node actor that has no device."""
