"""Run every benchmark: ``python -m bench [--quick] [NAME …]``."""

import argparse
import subprocess
import sys
from pathlib import Path

from bench.harness import RESULT

HELPERS = {"__init__", "__main__", "adult", "adult_codes", "harness", "load"}


def main() -> int:
    scripts = sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem not in HELPERS)
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("--quick", action="store_true", help="under a minute a script, on less data")
    parser.add_argument("names", nargs="*", help=f"which ones; default: {', '.join(scripts)}")
    options = parser.parse_args()
    if unknown := set(options.names) - set(scripts):
        parser.error(f"no benchmark is called {', '.join(unknown)}")
    missed, unmeasured = [], []
    for name in options.names or scripts:
        print(f"\n== {name}", flush=True)
        command = [sys.executable, "-m", f"bench.{name}", *(["--quick"] if options.quick else [])]
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        print(run.stdout, end="", flush=True)
        last = run.stdout.splitlines()[-1] if run.stdout else ""
        if run.returncode or RESULT not in last or '"met": false' in last:
            missed.append(name)
        elif '"met": null' in last:
            unmeasured.append(name)
    print(f"\nGoals missed: {', '.join(missed)}" if missed else "\nNo goal was missed.")
    if unmeasured:
        print(f"Not all of {', '.join(unmeasured)} was measured: a peer is not installed.")
    return 1 if missed and not options.quick else 0


if __name__ == "__main__":
    sys.exit(main())
