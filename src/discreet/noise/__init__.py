"""The only place that draws randomness that protects anyone: entropy, exact samplers, mechanisms."""
