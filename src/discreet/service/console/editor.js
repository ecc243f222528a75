// An editor of code: its label, the Tab key, Ctrl+Enter, light and dark; ``extend`` gives it what else it needs.
(editor, label, press, extend) => import('nicegui-codemirror').then(async (CM) => {
  await editor.editorPromise;
  editor.editor.contentDOM.setAttribute('aria-label', label);
  editor.editor.setTabFocusMode(true);  // the Tab key goes on to the next control, as everywhere
  const run = () => { press(); return true; };
  const keys = CM.Prec.high(CM.keymap.of([{key: 'Mod-Enter', run}]));
  editor.editor.dispatch({effects: CM.StateEffect.appendConfig.of([keys, extend(CM)])});
  const shade = () => editor.setTheme(document.body.classList.contains('body--dark') ? 'vscodeDark' : 'vscodeLight');
  shade();
  new MutationObserver(shade).observe(document.body, {attributes: true, attributeFilter: ['class']});
})
