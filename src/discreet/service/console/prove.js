// The language of programs on the Prove page (and of Python, whose marked functions look alike): colours, completions.
(CM) => {
  const words = (text) => new Set(text.split(' '));
  const keywords = words('adjacent claim assume if then else while do return emit skip for in def yield assert from import');
  const types = words('real int bool float list of private public Private Literal');
  const atoms = words('true false True False eps one all inc dec l1 any by');
  const operators = words('and or not xor');
  const calls = words('Laplace DLaplace Exp Gaussian Bernoulli Uniform ExpMech size len range min max abs');
  const token = (stream) => {
    if (stream.eatSpace()) return null;
    if (stream.match(/#.*/) || stream.match(/--(\s.*)?$/)) return 'comment';
    if (stream.match(/\d+(\.\d+)?/)) return 'number';
    const word = stream.match(/[A-Za-z_][A-Za-z0-9_']*/);
    if (!word) {
      if (stream.match(/"[^"]*"?/)) return 'string';
      stream.next();
      return null;
    }
    if (keywords.has(word[0])) return 'keyword';
    if (types.has(word[0])) return 'typeName';
    if (atoms.has(word[0])) return 'bool';
    if (operators.has(word[0])) return 'operatorKeyword';
    return calls.has(word[0]) || stream.match(/\s*\(/, false) ? 'variableName.function' : 'variableName';
  };
  const known = [...keywords, ...types, ...calls].sort();
  return CM.StreamLanguage.define({token, languageData: {autocomplete: known, commentTokens: {line: '#'}}});
}
