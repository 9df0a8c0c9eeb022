"""Whether scripts/site makes pages that need no network and whose links lead somewhere, and whose search finds their sections.

  check_site.py FOLDER
"""
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src"}  # what a browser fetches by itself


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.loads, self.links, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if "id" in attributes:
            self.anchors.add(attributes["id"])
        if LOADS.get(tag) in attributes:
            self.loads.append(attributes[LOADS[tag]])
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])


# A search, and a section that must be among the first five.
SEARCHES = {"mixed precision": "docs/calibration.html", "export-onnx qdq": "docs/command.html", "line buffers": "docs/streaming.html",
            "pkg-config camera_loop": "examples/camera_loop/index.html", "itg_session_run": "docs/api/c.html",
            "FLT_EVAL_METHOD": None}  # in no page


def check_search(site, pages):
    """Problems of the index, and of what the script finds in it, where node runs it."""
    text = (site / "site_search_index.js").read_text(encoding="utf-8")
    index = json.loads(text[len("window.siteSearchIndex = "):].rstrip(";\n"))
    problems = [] if len(index) > 500 else [f"the search knows only {len(index)} sections"]
    for address, page, heading, _ in index:
        name, _, anchor = address.partition("#")
        if not page or not heading or (site / name) not in pages or (anchor and anchor not in pages[site / name].anchors):
            problems.append(f"search: {address} ({page}: {heading}) leads nowhere")
    missing = {path.relative_to(site).as_posix() for path in pages} - {entry[0].partition("#")[0] for entry in index}
    problems += [f"search: {name} is not in the index" for name in sorted(missing) if not name.endswith("files.html")]
    if not shutil.which("node"):
        print("without node the search itself is not run")
        return problems
    program = """global.window = {}; require(process.argv[1] + "/site_search_index.js");
const {find, excerpt} = require(process.argv[1] + "/site_search.js");
console.log(JSON.stringify(JSON.parse(process.argv[2]).map(words => find(window.siteSearchIndex, words).map(e => [e[0], excerpt(e[3], words)]))));"""
    done = subprocess.run(["node", "-e", program, site.resolve(), json.dumps(list(SEARCHES))], check=True, capture_output=True, text=True)
    for (words, expected), found in zip(SEARCHES.items(), json.loads(done.stdout)):
        names = [address.partition("#")[0] for address, _ in found]
        if names[:5].count(expected) == 0 if expected else names:
            problems.append(f"search: '{words}' finds {names[:5]}, expected {expected}")
    return problems


def main():
    if not shutil.which("mkdocs"):
        print("skipped: mkdocs is not installed")
        return 0
    site = pathlib.Path(sys.argv[1])
    subprocess.run([ROOT / "scripts/site", site], check=True)
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html") if path.name != "404.html"}
    problems = [] if len(pages) > 50 else [f"only {len(pages)} pages"]
    for path, page in pages.items():
        where = path.relative_to(site)
        for address in page.loads + page.links:
            parts = urllib.parse.urlsplit(address)
            if parts.scheme or parts.netloc:
                problems += [f"{where}: loads {address} from elsewhere"] * (address in page.loads)
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                problems.append(f"{where}: {address} leads nowhere")
            elif parts.fragment and target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
                problems.append(f"{where}: {address} names no heading")
    problems += check_search(site, pages)
    for path in site.rglob("*.css"):
        if re.search(r"(@import|url\()\s*[\"']?https?:", path.read_text(encoding="utf-8", errors="replace")):
            problems.append(f"{path.relative_to(site)}: loads something from elsewhere")
    print("\n".join(problems) or f"{len(pages)} pages need nothing from elsewhere")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
