"""Whether scripts/command_pages makes what shells and man take, with every option of the help.

  check_command_pages.py COMMAND FOLDER
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import command_help  # noqa: E402

problems = []


def check(good, text):
    if not good:
        problems.append(text)


def completed(share, *words):
    """What bash offers for the last word."""
    script = f"""source {share}/bash-completion/completions/intaglio
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _intaglio; printf '%s\\n' "${{COMPREPLY[@]}}" """
    run = subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True, check=True, cwd=share)
    return run.stdout.splitlines()


def zsh_branch(text, words):
    """What zsh does for a subcommand: the branches of its words, one inside the other, up to the last one's end."""
    for word in words[:-1]:
        text = re.search(rf"^ *{re.escape(word)}\)$.*?^ *esac ;;$", text, re.MULTILINE | re.DOTALL).group()
    found = re.search(rf"^ *{re.escape(words[-1])}\).*?;;$", text, re.MULTILINE | re.DOTALL)
    return found.group() if found else ""


def fish_lines(text, words):
    condition = "'" + "; and ".join(f"__fish_seen_subcommand_from {word}" for word in words) + "'"
    return "\n".join(line for line in text.splitlines() if f"-n {condition} " in line)


def main():
    command, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([ROOT / "scripts/command_pages", command, folder], check=True)
    share = folder / "share"
    pages = command_help.pages(command)
    check(len(pages) > 15, "there are fewer help texts than subcommands")
    zsh, fish = ((share / path).read_text() for path in ("zsh/site-functions/_intaglio", "fish/vendor_completions.d/intaglio.fish"))
    for page in pages:
        name = "-".join(["intaglio", *page.words])
        man = (share / f"man/man1/{name}.1").read_text().replace("\\-", "-").replace("\\e", "\\")
        in_zsh, in_fish = (zsh_branch(zsh, page.words), fish_lines(fish, page.words)) if page.words else ("", "")
        for line in page.footer:
            check(line in man, f"{name}.1 lacks the line {line!r}")
        for option in page.options:
            for word in option.names:
                check(f"\\fB{word}\\fR" in man, f"{name}.1 lacks {word}")
                if page.words:
                    offered = completed(share, "intaglio", *page.words, word)
                    check(word in offered, f"bash does not offer {word} of {name}, but {offered}")
                    check(re.search(rf"['{{,*]{word}[\[,}}]", in_zsh), f"zsh lacks {word} of {name}")
                    flag = f"-l {word[2:]} " if word.startswith("--") else f"-s {word[1:]} "
                    check(flag in in_fish, f"fish lacks {word} of {name}")
    check(completed(share, "intaglio", "calib") == ["calibrate"], "bash does not complete a subcommand")
    check(completed(share, "intaglio", "params", "ex") == ["export"], "bash does not complete a subcommand of params")
    (share / "two words.itg").touch()
    for typed in ("two", "two\\ w", "'two w", '"two words'):
        for before in (["inspect"], ["import", "--input"], ["calibrate", "net.itg", "-o"]):
            check("two words.itg" in completed(share, "intaglio", *before, typed), f"bash does not complete {typed} behind {before}")
    check("'*--set[" in zsh_branch(zsh, ["calibrate"]), "zsh takes --set once alone")
    check("'--report[" in zsh_branch(zsh, ["calibrate"]), "zsh takes --report several times")
    check("imagenet" in completed(share, "intaglio", "import", "net.onnx", "--pixels", ""), "bash does not offer recipes")
    for tool, words in (("groff", ["-man", "-Tutf8", "-ww", "-z"]), ("zsh", ["-n"]), ("fish", ["--no-execute"])):
        files = {"groff": sorted(share.glob("man/man1/*.1")), "zsh": [share / "zsh/site-functions/_intaglio"],
                 "fish": [share / "fish/vendor_completions.d/intaglio.fish"]}[tool]
        if not shutil.which(tool):
            print(f"{tool} is not installed; its files are not tried")
            continue
        for file in files:
            run = subprocess.run([tool, *words, file], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
            check(run.returncode == 0 and not run.stderr, f"{tool} {file.name}: {run.stderr}")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
