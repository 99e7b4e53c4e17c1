"""`compare --run` goes on behind a fact that ends its process, and leaves the answers if it has no time: this script is
its own driver program as well."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOPICS = {"first": ["right", "crashes", "behind"], "second": ["exits", "hardware", "other"], "third": ["before", "alone"]}
EXPECTED = "".join(f"{topic}.{name}: yes\n" for topic, names in TOPICS.items() for name in names)


def program(topic, first=0):
    if topic == "--sources":
        print(EXPECTED.replace("yes", "assumed"), end="")
        return
    for name in TOPICS[topic][int(first) :]:
        if name == "crashes":
            os.kill(os.getpid(), signal.SIGABRT)
        if name == "exits":
            sys.exit("it cannot be asked")
        if name == "alone" and os.environ.get("HANGS"):
            time.sleep(600)
        print(f"{topic}.{name}: {'no' if name in ('hardware', 'other') else 'yes'}", flush=True)


def compare(folder, accepted, *options, **environment):
    (folder / "expected.txt").write_text(EXPECTED)
    (folder / "accepted.txt").write_text(accepted)
    command = [sys.executable, Path(__file__).with_name("compare"), folder / "expected.txt"]
    done = subprocess.run([*command, *options, "--run", sys.executable, __file__, "program"], capture_output=True,
                          text=True, env={**os.environ, **environment})
    return done.returncode, " ".join(done.stdout.split()), done.stderr


def main():
    known = "second.hardware: no | it is known\n"
    with tempfile.TemporaryDirectory() as folder:
        code, output, _ = compare(Path(folder), known)
        assert code == 1, code
        for words in ("first.crashes yes ends the process (signal 6)",
                      "second.exits yes ends the process (exit status 1: it cannot be asked)",
                      "second.other yes no", "second.hardware yes no it is known",
                      "3 of 8 facts differ unexpectedly, 1 as accepted"):
            assert words in output, output
        part = Path(folder) / "answers"
        options = ("--topic", "third", "--write", part)
        code, output, _ = compare(Path(folder), known, *options, "--seconds", "3", HANGS="1")
        assert code == 124 and "0 of 2 facts differ unexpectedly" in output, (code, output)
        assert "no time to ask for 1 facts" in output, output
        assert part.read_text() == "third.before: yes\n", part.read_text()
        code, output, _ = compare(Path(folder), known, *options)
        assert code == 0 and part.read_text() == "third.before: yes\nthird.alone: yes\n", part.read_text()
        code, _, errors = compare(Path(folder), "second.gone: no | it was known\n")
        assert code == 2 and "no such facts: second.gone" in errors, errors


if sys.argv[1:2] == ["program"]:
    program(*sys.argv[2:])
else:
    main()
