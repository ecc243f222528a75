// The editor of the Prove page: a mode for programs (and for Python, whose marked functions look alike), keys, colours.
(editor, start) => import('nicegui-codemirror').then(async (CM) => {
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
  const mode = CM.StreamLanguage.define({token, languageData: {autocomplete: known, commentTokens: {line: '#'}}});
  const run = () => { start(); return true; };
  const keys = CM.Prec.high(CM.keymap.of([{key: 'Mod-Enter', run}]));
  await editor.editorPromise;
  editor.editor.contentDOM.setAttribute('aria-label', 'Program');
  editor.editor.setTabFocusMode(true);  // the Tab key goes on to the next control, as everywhere
  editor.editor.dispatch({effects: CM.StateEffect.appendConfig.of([mode, keys])});
  const shade = () => editor.setTheme(document.body.classList.contains('body--dark') ? 'vscodeDark' : 'vscodeLight');
  shade();
  new MutationObserver(shade).observe(document.body, {attributes: true, attributeFilter: ['class']});
})
