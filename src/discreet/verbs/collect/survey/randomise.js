// What your browser does with an answer before anything leaves it. This is all of it.
// Every chance is an exact fraction, and every random bit is from your browser's cryptographic generator.

/** A random integer of the given number of bits. */
function fair(bits) {
  const bytes = crypto.getRandomValues(new Uint8Array(Math.ceil(bits / 8)));
  let made = 0n;
  for (const byte of bytes) made = (made << 8n) | BigInt(byte);
  return made >> BigInt(8 * bytes.length - bits);
}

/** A whole number from 0 to n - 1, each as likely: bits are drawn again until they are below n. */
export function below(n) {
  if (n === 1n) return 0n;
  const bits = (n - 1n).toString(2).length;
  let made;
  do made = fair(bits); while (made >= n);
  return made;
}

/** A coin that falls heads with a chance such as "3/4". */
function heads(chance) {
  const [a, b] = chance.split("/").map(BigInt);
  return below(b ?? 1n) < a;
}

/** A number as one of the steps 0, 1, 2, …: of the two beside it the nearer is likelier, so that means are right. */
export function step({ low, high, steps }, written) {
  const [from, to, number] = [low, high, written].map(fraction);
  const place = [
    (number[0] * from[1] - from[0] * number[1]) * to[1] * BigInt(steps),
    (to[0] * from[1] - from[0] * to[1]) * number[1],
  ];
  if (place[0] <= 0n) return 0;
  if (place[0] >= place[1] * BigInt(steps)) return steps;
  const rest = place[0] % place[1];
  return Number(place[0] / place[1]) + Number(rest > 0n && below(place[1]) < rest);
}

/** "-1.25" as the two whole numbers -125 and 100. */
function fraction(written) {
  const [whole, digits = ""] = String(written).trim().split(".");
  return [BigInt(whole + digits), 10n ** BigInt(digits.length)];
}

const WAYS = {
  // The first coin says whether the truth is told; if not, the second coin answers.
  coins: ({ truth, second }, answer) => (heads(truth) ? answer : Number(heads(second))),

  // The truth, or one of the other values, all of them alike.
  grr: ({ values, own }, answer) =>
    heads(own) ? answer : (answer + 1 + Number(below(BigInt(values - 1)))) % values,

  // A coin for every value; that of your own value falls by another chance. Written as bytes, the first value lowest.
  unary: ({ values, own, other }, answer) => {
    const bytes = new Uint8Array(Math.ceil(values / 8));
    for (let value = 0; value < values; value++)
      if (heads(value === answer ? own : other)) bytes[value >> 3] |= 1 << (value & 7);
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  },

  // For a mean: one of two reports, the upper the likelier the larger the number.
  duchi: ({ steps, slope }, answer) => {
    const [a, b] = slope.split("/").map(BigInt);
    return Number(below(2n * b) < b + 2n * BigInt(2 * answer - steps) * a);
  },

  // For a mean: one of the reports around the number, or one of all the others.
  window: ({ steps, width, inside }, answer) => {
    if (heads(inside)) return answer + Number(below(BigInt(width)));
    const other = Number(below(BigInt(steps)));
    return other < answer ? other : other + width;
  },
};

/** What is sent instead of an answer, which is the place of a value in its list, or of a number among its steps. */
export function randomise(how, answer) {
  return WAYS[how.way](how, answer);
}
