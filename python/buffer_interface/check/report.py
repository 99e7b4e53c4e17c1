"""The results of a check, rule by rule, as text, as a JSON object, and as a page."""

import html
import json
import platform
import re
import textwrap

from . import rules

WORDS = {"broken": "BROKEN", "holds": "holds", "skip": "-"}
MOST_SEEN = 6  # findings of one rule in the text


def marked(text):
    """HTML of a text whose names stand between backticks."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", html.escape(text))


def printable(text):
    """Returns the text with escapes in place of control characters but the ends of lines."""
    return re.sub(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", lambda found: repr(found[0])[1:-1], text)


class Line:
    """One rule with what was found for all arrays."""

    def __init__(self, rule, found, absent):
        self.rule = rule
        self.seen, self.why = [], []
        for result in found:
            listed = self.seen if result["status"] == "broken" else self.why if result["status"] == "skip" else []
            entry = (result["array"], result["text"])
            if entry not in listed:
                listed.append(entry)
        self.status = "broken" if self.seen else "holds" if any(r["status"] == "holds" for r in found) else "skip"
        reasons = list(dict.fromkeys(text for _, text in self.why if text))
        self.reason = reasons[0] if reasons else absent


class Report:
    def __init__(self, target, is_consumer, protocols, arrays, results):
        self.target, self.is_consumer, self.arrays = target, is_consumer, arrays
        self.groups = [(name, self._lines(name, listed, results)) for name, listed in rules.rules(protocols, is_consumer).items()]
        self.absent = {name: "no array has the protocol" for name, _ in self.groups if not self._speaks(name)}
        if is_consumer:
            for name, lines in self.groups:
                if all(line.status == "skip" for line in lines):
                    self.absent[name] = lines[0].reason
            alive = [rule for rule in rules.PRODUCER["all"] if rule.name == "all.alive"]
            self.groups.append(("all", self._lines("all", alive, results)))

    def _speaks(self, protocol):
        return protocol == "all" or any(protocol in array[2] for array in self.arrays)

    def _lines(self, protocol, listed, results):
        named = {}
        for result in results:
            named.setdefault(result["rule"], []).append(result)
        absent = "no array puts it to the test"
        return [Line(rule, named.get(rule.name, []), rules.NOT_JUDGED.get(rule.name, absent)) for rule in listed]

    @property
    def broken(self):
        return self._count("broken")

    def _count(self, status):
        return sum(line.status == status for _, lines in self.groups for line in lines)

    def summary(self):
        def of(count, one, many):
            return f"{count} {'rule' if count == 1 else 'rules'} {one if count == 1 else many}"

        broken = self.broken
        return f"{of(broken, 'is broken', 'are broken')}, {self._count('holds')} hold, {self._count('skip')} do not apply."

    def text(self, is_long):
        """Broken rules with all that was seen; with `is_long` the others too."""
        out = [f"{'Consumer' if self.is_consumer else 'Producer'} {self.target}"]
        if not self.is_consumer:
            for name, kind, protocols in self.arrays:
                out.append(f"  array {name}: {kind}; {', '.join(protocols)}")
        for protocol, lines in self.groups:
            if is_long and protocol in self.absent:
                out += ["", f"{rules.TITLES[protocol]}: {self.absent[protocol]}"]
                continue
            shown = [line for line in lines if is_long or line.status == "broken"]
            if shown:
                out += ["", rules.TITLES[protocol]]
            for line in shown:
                out += self._text_of(line)
        return printable("\n".join([*out, "", self.summary(), ""]))

    def _text_of(self, line):
        def wrapped(label, text):
            return textwrap.wrap(text, 110, initial_indent=f"          {label} ", subsequent_indent=" " * (11 + len(label)))

        out = [f"  {WORDS[line.status]:<7} {line.rule.name}"]
        if line.status == "skip":
            return [*out[:-1], out[-1] + f": does not apply, {line.reason}"]
        out += wrapped("rule:  ", line.rule.wants)
        if line.status == "broken":
            for array, seen in line.seen[:MOST_SEEN]:
                out += wrapped("seen:  ", seen if self.is_consumer else f"array {array}: {seen}")
            if len(line.seen) > MOST_SEEN:
                out += wrapped("seen:  ", f"and {len(line.seen) - MOST_SEEN} more of the kind")
            out += wrapped("source:", line.rule.source)
        return out

    def json(self):
        """One object: keys target, consumer, python, arrays, rules, broken."""
        listed = [
            {
                "rule": line.rule.name,
                "protocol": protocol,
                "status": {"skip": "not applicable"}.get(line.status, line.status),
                "wants": line.rule.wants,
                "source": line.rule.source,
                "seen": [{"array": array, "text": seen} for array, seen in line.seen],
                "reason": line.reason if line.status == "skip" else None,
            }
            for protocol, lines in self.groups
            for line in lines
        ]
        arrays = [{"name": name, "type": kind, "protocols": protocols} for name, kind, protocols in self.arrays]
        document = {"target": self.target, "consumer": self.is_consumer, "python": platform.python_version()}
        return json.dumps({**document, "arrays": arrays, "rules": listed, "broken": self.broken}, indent=2, ensure_ascii=False) + "\n"

    def html(self):
        body = "".join(self._section(protocol, lines) for protocol, lines in self.groups)
        arrays = "".join(
            f"<tr><td>{html.escape(name)}</td><td><code>{html.escape(kind)}</code></td><td>{html.escape(', '.join(protocols))}</td></tr>"
            for name, kind, protocols in self.arrays
        )
        title = f"{'Consumer' if self.is_consumer else 'Producer'} {html.escape(self.target)}"
        listed = "" if self.is_consumer else f"<table class=arrays><tr><th>array</th><th>type</th><th>protocols</th></tr>{arrays}</table>"
        verdict = "bad" if self.broken else "good"
        return PAGE.format(title=title, style=STYLE, arrays=listed, summary=self.summary(), verdict=verdict, body=body)

    def _section(self, protocol, lines):
        counts = {status: sum(line.status == status for line in lines) for status in WORDS}
        if protocol in self.absent:
            reason = self.absent[protocol]
            return f"<h2>{rules.TITLES[protocol]}</h2><p class=none>{html.escape(reason[:1].upper() + reason[1:])}.</p>"
        order = {"broken": 0, "holds": 1, "skip": 2}
        rows = "".join(self._row(line) for line in sorted(lines, key=lambda line: order[line.status]))
        counted = f"{counts['broken']} broken, {counts['holds']} hold, {counts['skip']} do not apply"
        return f"<h2>{rules.TITLES[protocol]} <small>{counted}</small></h2><table class=rules>{rows}</table>"

    def _row(self, line):
        seen = "".join(
            f"<li>{'' if self.is_consumer else f'<b>{html.escape(array)}</b> '}{html.escape(text)}</li>" for array, text in line.seen
        )
        more = f"<ul>{seen}</ul><p class=source>{html.escape(line.rule.source)}</p>" if seen else ""
        if line.status == "skip":
            more = f"<p class=source>{html.escape(line.reason)}</p>"
        word = {"broken": "broken", "holds": "holds", "skip": "n/a"}[line.status]
        name = html.escape(line.rule.name).replace(".", ".<wbr>")
        return (
            f"<tr class={line.status}><td class=status><span>{word}</span></td><td class=name>{name}</td>"
            f"<td><p>{marked(line.rule.wants)}</p>{more}</td></tr>"
        )


STYLE = """
:root { color-scheme: light dark; --line: #d8dde3; --soft: #5c6773; --bad: #b3261e; --good: #1b6e3c; --page: #fff; --text: #1c2024; --tint: #fdf1f0 }
@media (prefers-color-scheme: dark) { :root { --line: #39414a; --soft: #9aa5b1; --bad: #ff8a80; --good: #7bd69b; --page: #14181c; --text: #e6e9ec; --tint: #2b1b1a } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: var(--text); background: var(--page) }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; overflow-wrap: anywhere } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem }
h2 small { color: var(--soft); font-weight: normal; font-size: .85rem; margin-left: .5rem }
.summary { font-size: 1.05rem; margin: 0 0 1rem } .bad { color: var(--bad) } .good { color: var(--good) }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; vertical-align: top; padding: .4rem .75rem .4rem 0 }
tr { border-top: 1px solid var(--line) } .arrays { width: auto } .arrays td, .arrays th { padding-right: 2rem }
.status { width: 4.6rem } .status span { font-size: .8rem; padding: .1rem .45rem; border-radius: .6rem; border: 1px solid var(--line); color: var(--soft) }
.broken { background: var(--tint) } .broken .status { padding-left: .5rem } .broken .status span { color: var(--page); background: var(--bad); border-color: var(--bad) }
.rules td.status { padding-left: .5rem } .holds .status span { color: var(--good); border-color: var(--good) }
.name { width: 11rem; font-family: ui-monospace, monospace; font-size: .88rem; padding-top: .5rem }
p { margin: 0 } ul { margin: .3rem 0; padding-left: 1.1rem; overflow-wrap: anywhere } .source, .none { color: var(--soft); font-size: .88rem }
.skip p:first-child { color: var(--soft) }
"""

PAGE = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title><style>{style}</style>
<h1>{title}</h1><p class="summary {verdict}">{summary}</p>{arrays}{body}</html>
"""
