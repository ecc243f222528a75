"""Example programs: mechanisms that keep their claim, and known mistakes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ExampleProgram:
    """A program to begin with."""

    title: str
    text: str
    python: bool = False


EXAMPLES = (
    ExampleProgram(
        "Mean of bits with Laplace noise",
        """# The mean of a list of bits. One person changes it by at most 1/size(d).
adjacent one by 1
claim eps
private_mean(d : private list of {0,1}) : real
  assume size(d) >= 1
  i := 0; s := 0
  while i < size(d)
    s := s + d[i]; i := i + 1
  z := $ Laplace(1/(size(d)*eps), 0)
  return s/i + z
""",
    ),
    ExampleProgram(
        "Mean without noise (not private)",
        """# The mean of a list of bits as it is: neighbours show different means.
adjacent one by 1
claim eps
mean(d : private list of {0,1}) : real
  assume size(d) >= 1
  i := 0; s := 0
  while i < size(d)
    s := s + d[i]; i := i + 1
  return s/i
""",
    ),
    ExampleProgram(
        "Randomised response",
        """# Two fair coins: tell the truth, or answer by the second coin. Its epsilon is ln 3.
adjacent any
claim 11/10
response(x : private bool) : bool
  truth := $ Bernoulli(1/2)
  second := $ Bernoulli(1/2)
  if truth
    answer := x
  else
    answer := second
  return answer
""",
    ),
    ExampleProgram(
        "Above threshold (sparse vector)",
        """# The first query above a noisy threshold, and nothing after it.
adjacent all by 1
claim eps
above_threshold(q : private list of real, T : real) : int
  rho := $ Laplace(2/eps, 0)
  i := 0; found := 0
  while i < size(q) and found == 0
    eta := $ Laplace(4/eps, 0)
    if q[i] + eta >= T + rho
      found := 1
      emit true
    else
      emit false
    i := i + 1
  return found
""",
    ),
    ExampleProgram(
        "Sparse vector without query noise (not private)",
        """# A published mistake: no noise on the queries, and no limit on how many are answered.
adjacent all by 1
claim eps
sparse_vector(q : private list of real, T : real) : list of bool
  rho := $ Laplace(1/eps, 0)
  i := 0
  while i < size(q)
    if q[i] >= T + rho
      emit true
    else
      emit false
    i := i + 1
""",
    ),
    ExampleProgram(
        "Report noisy max",
        """# Which query is largest, with noise on each. Only the index is shown.
adjacent all by 1
claim eps
noisy_max(q : private list of real) : int
  i := 0; best := 0; largest := 0
  while i < size(q)
    eta := $ Laplace(2/eps, 0)
    if i == 0 or q[i] + eta > largest
      largest := q[i] + eta
      best := i
    i := i + 1
  return best
""",
    ),
    ExampleProgram(
        "Gaussian sum (epsilon and delta)",
        """# A sum with Gaussian noise: (1/2, 1/1000)-differentially private.
adjacent one by 1
claim 1/2, 1/1000
gaussian_sum(d : private list of real) : real
  i := 0; s := 0
  while i < size(d)
    s := s + d[i]; i := i + 1
  z := $ Gaussian(7, 0)
  return s + z
""",
    ),
    ExampleProgram(
        "Python: sum with Laplace noise",
        """# The same language as a Python function, which is read and never run.
from discreet.verbs.prove import Private, private


@private(adjacent="one by 1", claim="eps")
def noisy_sum(d: Private[list[float]]) -> float:
    total = 0
    for i in range(len(d)):
        total = total + d[i]
    noise = Laplace(1 / eps)
    return total + noise
""",
        python=True,
    ),
)
"""Programs that the console offers, the proved and the refuted ones."""
