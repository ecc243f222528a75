"""The trusted kernel of proofs: two runs of a program side by side, as conditions for a solver.

``layout`` numbers the parts of a program, ``world`` has the inputs of both runs and what neighbours are, ``walk`` goes
through the program once and says what must hold. The checker trusts this room and nothing else; the prover only
searches for what the checker then checks.
"""
