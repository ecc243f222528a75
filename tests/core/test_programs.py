"""Linear and integer programs whose solutions are known, and what is said of those that have none."""

import sys

import numpy as np
import pytest
import scipy.sparse

from discreet.core.programs import PRIMAL, Matrix, Program, Solver, Status
from discreet.errors import EngineError, MissingPart

DENSE = np.array([[1.0, 1.0, 0.0], [0.0, 2.0, -1.0]])
SPARSE = [make(DENSE) for make in (scipy.sparse.csr_array, scipy.sparse.csc_array, scipy.sparse.coo_array)]
ROWS = Matrix.of_rows([([0, 1], [1.0, 1.0]), ([1, 2], [2.0, -1.0])])


@pytest.mark.parametrize("matrix", [DENSE, *SPARSE, ROWS], ids=["dense", "csr", "csc", "coo", "rows"])
def test_a_linear_program_is_solved_however_its_matrix_is_given(matrix):
    """Least a + 2b + 3c with a + b >= 4 and 2b - c = 1, so that b is 1/2 and c is 0."""
    found = Program(np.array([1.0, 2.0, 3.0]), matrix, [4.0, 1.0], [np.inf, 1.0], 0.0, np.inf).solve()
    assert found.status is Status.OPTIMAL
    np.testing.assert_allclose(found.x, [3.5, 0.5, 0.0])
    assert found.value == found.bound == pytest.approx(4.5)
    np.testing.assert_allclose(found.duals, [1.0, 0.5])


@pytest.mark.parametrize("unit", [1e-7, 1.0, 1e9])
def test_costs_of_any_size_are_told_apart(unit):
    """Sizes of 10, 14 and 9 are to fit into 30; HiGHS alone takes costs of 1e-7 for nothing."""
    gains, sizes = -unit * np.array([10.0, 15.0, 9.0]), np.array([[10.0, 14.0, 9.0]])
    found = Program(gains, sizes, -np.inf, 30.0, 0.0, 3.0, integral=True).solve()
    best = min(
        (unit * -(10 * a + 15 * b + 9 * c), (a, b, c))
        for a in range(4)
        for b in range(4)
        for c in range(4)
        if 10 * a + 14 * b + 9 * c <= 30
    )
    assert tuple(np.rint(found.x)) == best[1]
    assert found.value == pytest.approx(best[0]) and found.bound <= found.value + 1e-6 * unit
    linear = Program(gains, sizes, -np.inf, 30.0, 0.0, 3.0).solve()
    assert linear.value < found.value
    np.testing.assert_allclose(linear.duals, [-unit * 15 / 14])


def test_whole_numbers_are_asked_for_only_where_they_do_not_come_by_themselves():
    halves = Program(np.ones(2), np.array([[2.0, 0.0], [0.0, 1.0]]), [1.0, 1.0], np.inf, 0.0, 5.0, integral=True)
    assert halves.solve_whole(5.0).x.tolist() == [1.0, 1.0]
    mixed = Program(np.ones(2), halves.matrix, [1.0, 1.0], np.inf, 0.0, 5.0, integral=np.array([False, True]))
    assert mixed.solve_whole(5.0).x.tolist() == mixed.solve(5.0).x.tolist() == [0.5, 1.0]


@pytest.mark.parametrize("integral", [False, True])
def test_what_has_no_solution_is_said_to_have_none(integral):
    found = Program(np.ones(2), np.ones((1, 2)), 3.0, np.inf, 0.0, 1.0, integral=integral).solve()
    assert found.infeasible and found.x is None and found.value == found.bound == np.inf


@pytest.mark.parametrize("right", [0.0, 1.0])
def test_a_program_without_variables_asks_whether_nothing_is_enough(right):
    found = Program(np.empty(0), np.empty((1, 0)), np.array([right]), np.array([right]), 0.0, 1.0).solve()
    assert found.infeasible is bool(right) and (found.x is None) is bool(right)


def test_without_end_is_not_solved():
    found = Program(np.array([-1.0]), np.empty((0, 1)), np.empty(0), np.empty(0), 0.0, np.inf).solve()
    assert found.x is None and found.status in {Status.FAILED, Status.INFEASIBLE}


def test_a_start_and_a_gap_are_used():
    """Within a gap of 100 % of the best, the start is good enough; the bound never exceeds what is best."""
    rng = np.random.default_rng(3)
    cost, matrix = rng.integers(1, 30, 40).astype(float), (rng.random((30, 40)) < 0.2).astype(float)
    matrix[:, 0] = 1.0
    program = Program(cost, matrix, 1.0, np.inf, 0.0, 1.0, integral=True)
    best = program.solve()
    start = np.ones(40)
    loose = program.solve(start=start, gap=1e6, presolve="off", mip_heuristic_effort=0.0)
    assert loose.bound <= best.value + 1e-6 <= loose.value + 2e-6 <= cost.sum() + 3e-6
    assert (matrix @ np.rint(loose.x) >= 1).all()
    near = program.solve(absolute_gap=0.999)
    assert near.value == pytest.approx(best.value)


def test_what_was_found_before_a_limit_is_kept_with_a_bound():
    """HiGHS is told to stop at its first solution, which is the start."""
    rng = np.random.default_rng(3)
    cost, matrix = rng.integers(1, 30, 300).astype(float), (rng.random((250, 300)) < 0.02).astype(float)
    matrix[:, 0], cost[0] = 1.0, 9000.0
    program = Program(cost, matrix, 1.0, np.inf, 0.0, 1.0, integral=True)
    found = program.solve(start=(np.arange(300) == 0).astype(float), mip_max_improving_sols=1, presolve="off")
    assert found.status is Status.FAILED and found.x is not None
    assert (matrix @ np.rint(found.x) >= 1).all() and found.bound < found.value <= 9000.0 + 1e-6


def test_a_solver_is_changed_and_asked_again():
    solver = Solver(presolve="off", simplex_strategy=PRIMAL)
    solver.add_rows(1.0, np.inf, Matrix.of_rows([([], [])]))
    columns = Matrix(np.array([0, 1, 2], np.int32), np.zeros(2, np.int32), np.ones(2), 1, by_rows=False)
    solver.add_columns(np.array([2.0, 1.0]), 0.0, 1.0, columns)
    assert solver.columns == 2 and solver.optimum().x.tolist() == [0.0, 1.0]
    solver.set_costs(np.array([1]), 3.0)
    assert solver.status is not Status.OPTIMAL  # not of the program as it is now
    assert solver.optimum().x.tolist() == [1.0, 0.0] and solver.info.objective_function_value == 2.0
    solver.set_bounds(np.array([0]), 0.0, 0.25)
    solver.add_rows(0.5, np.inf, Matrix.of_rows([([1], [1.0])]))
    point = solver.optimum()
    assert (
        point.x.tolist() == [0.25, 0.75] and point.sums.tolist() == [1.0, 0.75] and point.duals.tolist() == [3.0, 0.0]
    )
    solver.delete_rows([0])
    assert solver.optimum().x.tolist() == [0.0, 0.5]


def test_no_optimum_where_there_should_be_one_is_an_error():
    solver = Solver(presolve="off")
    solver.load(Program(np.ones(1), np.ones((1, 1)), 2.0, np.inf, 0.0, 1.0))
    assert solver.run() is Status.INFEASIBLE
    with pytest.raises(EngineError, match="infeasible"):
        solver.optimum()
    solver.set_bounds(np.array([0]), 0.0, 3.0)
    assert solver.optimum().x.tolist() == [2.0]


def test_where_one_simplex_fails_the_other_is_tried():
    """The dual simplex needs seven steps at most, the primal one more; neither needs only one."""
    program = Program(np.arange(1.0, 17.0), np.random.default_rng(0).random((8, 16)), 1.0, np.inf, 0.0, 9.0)
    solver = Solver(presolve="off", simplex_strategy=PRIMAL, simplex_iteration_limit=7)
    solver.load(program)
    assert solver.run() is Status.FAILED
    assert solver.optimum() and solver.info.objective_function_value == pytest.approx(program.solve().value)
    solver.load(program)
    assert solver.run() is Status.FAILED  # it is the primal one again
    solver = Solver(presolve="off", simplex_iteration_limit=1)
    solver.load(program)
    with pytest.raises(EngineError, match="not solved"):
        solver.optimum()


def test_without_the_solver_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(MissingPart, match=r"HiGHS.*discreet\[solver\]"):
        Program(np.ones(1), np.ones((1, 1)), 0.0, 1.0, 0.0, 1.0).solve()
