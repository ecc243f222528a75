"""The same question again and again: what is remembered on the device, so that answers do not average out."""
