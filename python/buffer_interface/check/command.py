"""Starts the process that has the producer, collects its results, and starts it again if it crashes or hangs."""

import argparse
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import traceback

from . import report, rules

MOST_RESTARTS = 40
HELP = """Checks a producer or a consumer of arrays, rule by rule.

A producer is a function without arguments that returns an array, a list of arrays, or a dict of them. Each array is made anew
for each step of the check. If the function has a parameter `gate`, it is called with a function: gate(queue) for a
cl_command_queue, gate(stream, "cuda") for a CUDA stream, each as int. Later work on that queue then waits until the checker
lets it run; so the function enqueues work on its array after the call, and does not wait for it. That is how order is judged.

A consumer is a function with one argument. It is called with arrays of the checker, which are legal in an odd way or illegal. It
returns the elements as lists, or an object with tolist(); it raises an error to refuse the array.

Exit status: 0 if no rule is broken, 1 if one is, 2 if the check could not run."""


def seconds(text):
    """Reads --timeout."""
    try:
        if 1 <= float(text) <= 3600:
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r}; a number of seconds from 1 to 3600 is expected")


def is_stdout(path):
    """Returns true for "-" and for a path of the file or the pipe that is the standard output."""
    try:
        return path == "-" or os.path.samestat(os.stat(path), os.fstat(1))
    except OSError:
        return False


def regular_file(path):
    """Returns the path of the file that a report makes or replaces, or None for a device, a pipe or a folder."""
    target = os.path.realpath(path)  # names no file if the path is that of a pipe: /dev/fd/3
    return None if os.path.exists(path) and not os.path.isfile(target) else target


def why_not_writable(path):
    """Returns the reason why a report cannot be written, or None. A file is replaced, so its folder is written too."""
    target = regular_file(path)
    if os.path.isdir(path):
        return "a folder; the path of a file is expected"
    if os.path.exists(path) and not os.access(path, os.W_OK):
        return "the file is write-protected; chmod u+w changes that"
    folder = os.path.dirname(target) if target else None
    if folder and not os.path.isdir(folder):
        return f"there is no folder {folder}; mkdir -p makes it"
    if folder and not os.access(folder, os.W_OK | os.X_OK):
        return f"the folder {folder} cannot be written, and the report is made in it before it replaces the file"
    return None


def write_file(path, text):
    """Writes a file completely or not at all. A device or a pipe is written directly."""
    target = regular_file(path)
    if target is None:
        pathlib.Path(path).write_text(text, encoding="utf-8")
        return
    path = target
    os.umask(mask := os.umask(0))
    mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o666 & ~mask
    descriptor, temporary = tempfile.mkstemp(prefix=".bi-", dir=os.path.dirname(path))
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            os.chmod(temporary, mode)
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def add_arguments(parser):
    parser.add_argument("producer", nargs="?", metavar="MODULE:FACTORY", help="the function that makes arrays")
    parser.add_argument("--consumer", metavar="MODULE:FUNCTION", help="check this consumer instead of a producer")
    parser.add_argument("--protocol", choices=["all", *rules.PROTOCOLS], default="all", help="the protocol to check (all)")
    parser.add_argument("--timeout", type=seconds, default=20, metavar="SECONDS", help="most time without a result (20)")
    parser.add_argument("--json", metavar="FILE", help="also write the results as one JSON object; - prints it in place of the text")
    parser.add_argument("--html", metavar="FILE", help="also write the report as one page; - prints it in place of the text")
    parser.add_argument("--all", action="store_true", help="also list rules that hold or do not apply")


class Child:
    """One run of the process. `events()` gives what it writes; afterwards `ended` says how it ended."""

    def __init__(self, task, seconds):
        read, write = os.pipe()
        root = str(pathlib.Path(__file__).absolute().parents[2])
        path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), root]))
        with tempfile.TemporaryFile() as file:  # an argument of a process has at most 128 KiB
            file.write(json.dumps(task).encode())
            file.seek(0)
            command = [sys.executable, "-m", "buffer_interface.check.child", str(write), str(file.fileno())]
            self._process = subprocess.Popen(
                command, pass_fds=[write, file.fileno()], env={**os.environ, "PYTHONPATH": path}, stdin=subprocess.DEVNULL
            )
        os.close(write)
        self._read, self._seconds = read, seconds
        self.ended = None

    def events(self):
        rest = b""
        while select.select([self._read], [], [], self._seconds)[0]:
            data = os.read(self._read, 65536)
            if not data:
                self._process.wait()
                self.ended = self._how(self._process.returncode)
                return
            *lines, rest = (rest + data).split(b"\n")
            yield from map(json.loads, lines)
        self._process.kill()
        self._process.wait()
        self.ended = f"goes on for more than {self._seconds:g} s"

    def close(self):
        os.close(self._read)
        self._process.kill()
        self._process.wait()

    @staticmethod
    def _how(code):
        if code >= 0:
            return f"ends the process with status {code}"
        try:
            return f"crashes the process ({signal.Signals(-code).name})"
        except ValueError:
            return f"crashes the process (signal {-code})"


class Failure(Exception):
    """The check could not run."""


def collect(task, seconds):
    """Runs the check. Returns (arrays, results); Failure says why it could not run."""
    arrays, results, done = None, [], []
    for _ in range(MOST_RESTARTS):
        child = Child({**task, "done": done}, seconds)
        step, pending, is_complete = None, [], False
        try:
            for event in child.events():
                if "fatal" in event:
                    raise Failure(event["fatal"])
                if "arrays" in event:
                    arrays = event["arrays"]
                elif "begin" in event:
                    step = event["begin"]
                elif "end" in event:
                    done.append(step)
                    results += pending
                    step, pending = None, []
                elif "rule" in event:
                    pending.append(event)
                is_complete = is_complete or "done" in event
        finally:
            child.close()
        results += pending
        if is_complete:
            has_ended = child.ended == "ends the process with status 0"
            text = "" if has_ended else f"after the last step the producer {child.ended}"
            results.append({"rule": "all.alive", "status": "holds" if has_ended else "broken", "text": text, "array": "", "protocol": "all"})
            if step and not has_ended:
                text = f"a release while the interpreter finalises: the producer {child.ended}"
                results.append({"rule": "B-41", "status": "broken", "text": text, "array": step.split("/")[0], "protocol": "buffer-interface"})
            return arrays, results
        if arrays is None:
            what = "the import of the module, or the first call of the function,"
            raise Failure(f"{what} {child.ended}")
        if step is None:
            raise Failure(f"the process of the check {child.ended} between two steps")
        done.append(step)
        array, protocol, name = step.rsplit("/", 2)
        if "more than" in child.ended or name == rules.FIRST_CALL:
            done.append(f"{array}/{protocol}/")  # the other steps of the protocol would take as long, or end like this
        text = f"{protocol}: {name.replace('_', ' ')} {child.ended}"
        results.append({"rule": "all.alive", "status": "broken", "text": text, "array": array, "protocol": "all"})
    text = f"the process ended early {MOST_RESTARTS} times, and the rest was not checked"
    results.append({"rule": "all.alive", "status": "broken", "text": text, "array": "", "protocol": "all"})
    return arrays, results


def main(options):
    """Returns the exit status and the text for the standard output."""
    try:
        return run(options)
    except Failure as failure:
        print(report.printable(str(failure)), file=sys.stderr)
    except Exception:  # status 1 would say that a rule is broken
        traceback.print_exc()
    return 2, ""


def check_paths(paths):
    """Raises Failure if a report cannot be written. The check takes minutes, so this comes first."""
    if len(paths) == 2 and (len({os.path.realpath(path) for path in paths}) == 1 or all(map(is_stdout, paths))):
        raise Failure("--json and --html are the same file")
    for path in paths:
        reason = None if is_stdout(path) else why_not_writable(path)
        if reason:
            raise Failure(f"{path}: {reason}")


def run(options):
    if (options.producer is None) == (options.consumer is None):
        raise Failure("give either MODULE:FACTORY or --consumer MODULE:FUNCTION")
    check_paths([path for path in (options.json, options.html) if path])
    protocols = rules.PROTOCOLS if options.protocol == "all" else [options.protocol]
    target = options.consumer or options.producer
    task = {"target": target, "consumer": bool(options.consumer), "protocols": protocols}
    try:
        arrays, results = collect(task, options.timeout)
    except Failure as failure:
        raise Failure(f"{target}: {failure}") from None
    made = report.Report(target, bool(options.consumer), protocols, arrays, results)
    refused = [f"{name}: {made.absent[name]}" for name, _ in made.groups if name in made.absent]
    if options.consumer and not made.broken and len(refused) == len(made.groups) - 1:  # the last group is of all protocols
        none = f"there is no rule for consumers of the {rules.TITLES[protocols[0]]}"
        raise Failure(f"{target}: {'; '.join(refused) or none}")
    shown = made.text(options.all)
    for path, make in ((options.json, made.json), (options.html, made.html)):
        try:
            if path and is_stdout(path):
                shown = make()
            elif path:
                write_file(path, make())
        except OSError as error:
            raise Failure(f"{path}: {error.strerror}") from None
    return (1 if made.broken else 0), shown
