"""The only place that draws randomness that protects anybody: entropy, exact samplers, mechanisms."""
