"""Whether scripts/site makes pages that need no network and whose links lead somewhere.

  check_site.py FOLDER
"""
import html.parser
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
    for path in site.rglob("*.css"):
        if re.search(r"(@import|url\()\s*[\"']?https?:", path.read_text(encoding="utf-8", errors="replace")):
            problems.append(f"{path.relative_to(site)}: loads something from elsewhere")
    print("\n".join(problems) or f"{len(pages)} pages need nothing from elsewhere")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
