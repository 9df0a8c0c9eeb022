// How the calibration page looks: one column on a phone, no wider than is good to read elsewhere, dark where
// the reader's system is.
#pragma once

namespace intaglio::tools {

inline constexpr const char* kCalibrationPageStyle = R"css(
:root{color-scheme:light dark;--paper:#fff;--ink:#1c2126;--faint:#5d6873;--line:#dde2e7;--soft:#f3f5f7;
--good:#1a7f4b;--fair:#9a6700;--poor:#b42318;--bar:#4b6b8a;--range:#cfe3f5}
@media(prefers-color-scheme:dark){:root{--paper:#14181c;--ink:#e6e9ec;--faint:#9aa5b0;--line:#2d353d;--soft:#1d2329;
--good:#4cc38a;--fair:#e0ac3f;--poor:#f0776c;--bar:#8fb4d8;--range:#24405a}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:62rem;margin:0 auto;padding:1rem}
h1{font-size:1.2rem;margin:.5rem 0 1rem;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:2rem 0 .25rem}
h3{font-size:1rem;margin:0 0 .25rem;overflow-wrap:anywhere}
p{margin:.25rem 0 .5rem}
small{display:inline-block}
small,.note,footer,figcaption{color:var(--faint);font-size:.85rem;font-weight:400}
.verdict{border:1px solid var(--line);border-left:.4rem solid var(--faint);border-radius:.4rem;padding:.75rem 1rem;margin-top:1.25rem}
.verdict .word{font-size:1.6rem;font-weight:700;margin:0}
.good{border-left-color:var(--good)}.good .word{color:var(--good)}
.fair{border-left-color:var(--fair)}.fair .word{color:var(--fair)}
.poor{border-left-color:var(--poor)}.poor .word{color:var(--poor)}
.warnings ul{border:1px solid var(--line);border-left:.4rem solid var(--fair);border-radius:.4rem;
padding:.5rem 1rem .5rem 1.8rem}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.75rem;margin-top:.75rem}
.tiles b{display:block;font-size:1.15rem}.tiles span{color:var(--faint);font-size:.85rem;line-height:1.3;display:block}
article{border:1px solid var(--line);border-radius:.4rem;padding:.75rem 1rem;margin:.75rem 0}
pre{background:var(--soft);border-radius:.3rem;padding:.6rem;margin:.5rem 0 0;font-size:.8rem;overflow-x:auto}
figure{margin:.5rem 0}
figcaption{display:flex;justify-content:space-between;gap:.5rem;flex-wrap:wrap}
.histogram{display:block;width:100%;height:4.5rem;background:var(--soft)}
.histogram .range{fill:var(--range)}.histogram .bars{fill:var(--bar)}
.histogram .edge{stroke:var(--good);stroke-width:2;fill:none;vector-effect:non-scaling-stroke}
.depth{display:block;width:100%;height:auto;min-height:9rem}
.depth text{fill:var(--faint);font-size:11px}.depth .grid{stroke:var(--line)}
.depth .line{stroke:var(--bar);stroke-width:2;fill:none}
.depth .all{fill:var(--bar)}.depth .alone{fill:var(--paper);stroke:var(--good);stroke-width:1.5}
ul{margin:.25rem 0;padding-left:1.2rem;overflow-wrap:anywhere}
.node{color:var(--faint);font-weight:400}
code{background:var(--soft);border-radius:.2rem;padding:0 .2rem;white-space:nowrap}code.long{white-space:normal}
.wide{overflow-x:auto;border:1px solid var(--line);border-radius:.4rem}
table{border-collapse:separate;border-spacing:0;width:100%;font-size:.85rem}
th,td{text-align:left;padding:.35rem .6rem;border-bottom:1px solid var(--line);white-space:nowrap}
tr:last-child>*{border-bottom:0}
tr:first-child th{color:var(--faint);font-weight:600;background:var(--soft)}
tr th:first-child{position:sticky;left:0;background:var(--paper);min-width:10rem;max-width:45vw;white-space:normal;
overflow-wrap:anywhere;font-weight:600}
tr:first-child th:first-child{background:var(--soft)}
.number{text-align:right;font-variant-numeric:tabular-nums}
td.kept{color:var(--good)}td.undone{color:var(--faint)}
summary{cursor:pointer;padding:.4rem 0}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(17rem,1fr));gap:1rem}
.grid>div{min-width:0}
@media(max-width:34rem){th,td{padding:.35rem}tr th:first-child{min-width:7rem;max-width:38vw}}
@media print{:root{--paper:#fff;--ink:#000;--faint:#444;--line:#bbb;--soft:#f3f5f7;--bar:#355;--range:#dde}
main{max-width:none;padding:0}pre{white-space:pre-wrap;overflow-wrap:anywhere}.wide{overflow:visible;border:0}tr th:first-child{position:static}details{display:none}
table{font-size:.7rem}th,td{padding:.15rem .3rem}thead{display:table-header-group}tr,article,figure{break-inside:avoid}}
footer{border-top:1px solid var(--line);margin-top:2rem;padding-top:.75rem;overflow-wrap:anywhere}
)css";

}  // namespace intaglio::tools
