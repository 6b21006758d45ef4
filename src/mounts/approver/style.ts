import { createHash } from 'node:crypto'

/** Everything a page looks like; inline, named by its hash in the policy, nothing fetched. */
export const STYLE = `
:root{color-scheme:light dark;--bg:#fbfbfa;--fg:#1c1d1f;--dim:#5a5d63;--line:#d5d7db;--card:#fff;--go:#14622f;--stop:#a3201b;--warn:#7a4a00;--warnbg:#fff3dc;--link:#0b4fb3}
@media (prefers-color-scheme:dark){:root{--bg:#151619;--fg:#ececee;--dim:#a6a9b0;--line:#3a3d44;--card:#1d1f23;--go:#2f9e57;--stop:#e5605a;--warn:#f0c070;--warnbg:#33270f;--link:#8ab8ff}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:46rem;padding:1rem;background:var(--bg);color:var(--fg);font:1rem/1.5 system-ui,sans-serif}
a{color:var(--link)}
header{display:flex;gap:.5rem 1rem;align-items:center;justify-content:space-between;border-bottom:1px solid var(--line);padding-bottom:.5rem;margin-bottom:1rem}
header form{margin:0;flex:none}
header a{white-space:nowrap}
header span{overflow-wrap:anywhere}
h1{font-size:1.35rem;line-height:1.3;margin:.5rem 0;overflow-wrap:anywhere}
h2{font-size:1.05rem;margin:1.5rem 0 .4rem}
p{margin:.4rem 0}
.dim{color:var(--dim)}
section,.item{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.75rem 1rem;margin:.75rem 0}
section h2{margin-top:0}
h3{font-size:1rem;margin:1rem 0 .3rem}
.question{border:2px solid var(--warn)}
.item p{margin:.15rem 0}
dl{display:grid;grid-template-columns:minmax(6rem,max-content) 1fr;gap:.3rem 1rem;margin:0}
dt{color:var(--dim)}
dd{margin:0;min-width:0;overflow-wrap:anywhere}
code,pre,.exact{font:.9rem/1.45 ui-monospace,monospace}
pre,.exact{white-space:pre-wrap;overflow-wrap:anywhere;margin:0}
.exact{display:block;direction:ltr;unicode-bidi:isolate}
.digest{overflow-wrap:anywhere;user-select:all;-webkit-user-select:all}
.quote{border-left:3px solid var(--line);padding-left:.75rem}
.grave,.note{background:var(--warnbg);color:var(--warn);border-radius:.4rem;padding:.5rem .75rem}
.bad{border:1px solid var(--stop);border-radius:.4rem;padding:.5rem .75rem}
iframe{display:block;width:100%;height:2rem;border:0;color-scheme:inherit}
.clock{padding:0;max-width:none;background:var(--bg);font-weight:600}
.clock p{margin:.2rem 0}
label{display:block;margin:.4rem 0 .2rem}
.check{display:flex;gap:.6rem;align-items:flex-start}
.check input{flex:none;width:1.3rem;height:1.3rem;margin:.1rem 0 0}
textarea,select,input[type=password]{width:100%;font:inherit;color:inherit;background:var(--bg);border:1px solid var(--dim);border-radius:.4rem;padding:.5rem}
button{font:inherit;font-weight:600;min-height:2.75rem;padding:.4rem 1.1rem;margin-top:.6rem;border:2px solid currentColor;border-radius:.4rem;background:var(--card);color:var(--fg);cursor:pointer}
header button{min-height:2.25rem;margin:0;font-weight:400;border-width:1px}
.deny button{color:var(--stop)}
.approve button{color:var(--go)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
@media (max-width:30rem){dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}.decide button{width:100%}}
`

const HASH = createHash('sha256').update(STYLE, 'utf8').digest('base64')

/** No script, no picture, no font, no connection: only our own style, forms to us, and the clock. */
export const contentPolicy = (framedBy: 'none' | 'self'): string =>
  [
    "default-src 'none'",
    `style-src 'sha256-${HASH}'`,
    'img-src data:',
    "form-action 'self'",
    "frame-src 'self'",
    `frame-ancestors '${framedBy}'`,
    "base-uri 'none'",
  ].join('; ')
