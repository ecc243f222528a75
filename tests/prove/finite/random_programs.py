"""Small finite programs, made at random: coins, uniform integers, branches, a loop over a short list."""

from random import Random

from discreet.errors import BadProgram
from discreet.verbs.prove.programs import load_program

CLAIMS = ("0", "1/2", "7/10", "11/10", "7/5", "2", "3", "4")
CHANCES = ("1/2", "1/4", "1/3", "2/3", "3/4", "1/10")


def random_program(seed):
    """The text of a program. Its claim may be true or false."""
    random = Random(seed)  # noqa: S311
    while True:
        found = _Maker(random).program()
        try:
            load_program(found)
        except BadProgram:  # it emits values of two types
            continue
        return found


class _Maker:
    def __init__(self, random):
        self.random = random
        self.coins = self.drawn = 0
        self.listed = random.random() < 0.2
        self.tells = random.random() < 0.25  # truths are emitted, else numbers: never both
        self.numbers = ["x"] if not self.listed else []
        self.truths = []

    def one_of(self, *choices):
        return self.random.choice(choices)

    def program(self):
        domain = self.one_of("{0,1}", "{0,1}", "0..2")
        kind = self.one_of("any", "one by 1", "all by 1", "inc by 1", "dec by 1", "l1 by 1")
        given = f"d : private list of 2 {domain}" if self.listed else f"x : private {domain}"
        if not self.listed and self.random.random() < 0.3:
            given += ", y : private {0,1}"
            self.numbers.append("y")
        claim = self.one_of(*CLAIMS)
        if self.random.random() < 0.15:
            claim += ", " + self.one_of("1/10", "1/4", "1/100")
        lines = [f"adjacent {kind}", f"claim {claim}", f"made({given})"]
        if self.listed:
            lines += ["  i := 0; s := 0", "  while i < size(d)"]
            self.numbers += ["d[i]", "s"]
            lines += ["    " + line for line in self.block(2)]
            lines += ["    s := s + " + self.one_of("0", "1", "d[i]"), "    i := i + 1"]
            self.numbers.remove("d[i]")
            self.coins = 0
            self.truths = []
            self.numbers = ["s", "i"]
        lines += ["  " + line for line in self.block(self.one_of(1, 2, 2, 3))]
        lines.append("  return " + self.one_of(self.number(), "0", "0", "1", self.hidden()))
        return "\n".join(lines) + "\n"

    def block(self, count):
        """Statements; what they draw may be used afterwards."""
        return [line for _ in range(count) for line in self.statement()]

    def statement(self):
        kind = self.random.random()
        if kind < 0.5 and self.coins < 2:
            self.coins += 1
            self.drawn += 1
            name = f"c{self.drawn}"
            if self.random.random() < 0.7:
                chance = self.one_of(*CHANCES)
                if self.random.random() < 0.25:
                    chance = f"{chance} if {self.truth()} else {self.one_of(*CHANCES)}"
                self.truths.append(name)
                return [f"{name} := $ Bernoulli({chance})"]
            self.numbers.append(name)
            return [f"{name} := $ Uniform(0, {self.one_of('1', '2')})"]
        if kind < 0.65:
            return [self.emit(self.hidden())]
        if kind < 0.75:
            return [self.emit(self.number()), f"emit {self.truth()}" if self.tells else "skip"]
        return [f"if {self.truth()}", "  " + self.emit(self.number()), "else", "  " + self.emit(self.number())]

    def emit(self, number):
        return f"emit {number} >= 1" if self.tells else f"emit {number}"

    def hidden(self):
        """Something private that a draw may hide."""
        if not self.truths or not self.numbers:
            return self.number()
        first, coin = self.one_of(*self.numbers), self.one_of(*self.truths)
        return f"({first} if {coin} else {self.one_of('1 - ' + first, '0', '1')})"

    def number(self):
        first = self.one_of(*self.numbers, "1") if self.numbers else "1"
        kind = self.random.random()
        if kind < 0.5:
            return first
        second = self.one_of(*self.numbers, "1") if self.numbers else "1"
        if kind < 0.7:
            return f"{first} xor {second}"
        if kind < 0.85:
            return f"{first} + {second}"
        return f"({first} if {self.truth()} else {second})"

    def truth(self):
        kind = self.random.random()
        if self.truths and kind < 0.6:
            first = self.one_of(*self.truths)
            if kind < 0.3 or not self.numbers:
                return first
            return f"{first} {self.one_of('and', 'or')} {self.one_of(*self.numbers)} == {self.one_of('0', '1')}"
        return f"{self.one_of(*self.numbers, '0')} {self.one_of('==', '<', '>=')} {self.one_of('0', '1')}"
