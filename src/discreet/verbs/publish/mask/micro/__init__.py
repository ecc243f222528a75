"""The kernels of microaggregation: arrays in, a group number for each record out."""
