"""Makes the table of docs/conformance-table.md: which tests hold the library to which rule, and whether they passed.

    conformance.py [--output TABLE.md] RESULTS...

RESULTS are JUnit XML files of pytest and of ctest, whose system-out has the lines of cmocka if ctest did not cut it
(ctest --output-junit FILE --test-output-size-passed 10000000), or plain text with such lines. A test belongs to the rules whose numbers stand together in its name: test_P6_P7_own_work,
cai_P3_without_elements. Ends with 1 if a rule of rules.toml has no test, or one that failed or did not run.
"""

import argparse
import collections
import pathlib
import re
import sys
import tomllib
import xml.etree.ElementTree as xml

HERE = pathlib.Path(__file__).parent
CMOCKA = re.compile(r"^\[\s*(OK|FAILED|ERROR|SKIPPED)\s*\] (\w+)", re.MULTILINE)

Result = collections.namedtuple("Result", "name passed")


def load_rules(path=HERE / "rules.toml"):
    """Sentences by number, in the order of the file, and titles by letter."""
    with open(path, "rb") as file:
        data = tomllib.load(file)
    return data["rules"], data["groups"]


def rules_of(name, rules):
    """The first run of numbers of rules in a test's name."""
    words = name.split("[")[0].split("_")
    found = []
    for word in words:
        if word in rules:
            found.append(word)
        elif found:
            break
    return found


def read_cmocka(text):
    return [Result(name, state == "OK") for state, name in CMOCKA.findall(text)]


def read_junit(text):
    results = []
    for case in xml.fromstring(text).iter("testcase"):
        inner = read_cmocka(case.findtext("system-out") or "")
        failed = any(case.find(tag) is not None for tag in ("failure", "error", "skipped"))
        results += inner
        results.append(Result(case.get("name"), not failed))
    return results


def read_results(path):
    text = pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
    return read_junit(text) if text.lstrip().startswith("<") else read_cmocka(text)


def by_rule(results, rules):
    """Tests by rule: {rule: {name without parameters: passed}}; all parameters of a test must pass."""
    table = {rule: {} for rule in rules}
    for result in results:
        name = result.name.split("[")[0]
        for rule in rules_of(name, rules):
            table[rule][name] = table[rule].get(name, True) and result.passed
    return table


def state_of(tests):
    if not tests:
        return "no test"
    return "passed" if all(tests.values()) else "FAILED"


def cell(tests):
    return "<br>".join(f"`{name}`" + ("" if passed else " **failed**") for name, passed in sorted(tests.items()))


def write_table(table, rules, groups, out):
    print("# Conformance: rules and tests\n", file=out)
    print(
        "`tests/python/conformance.py` makes this page from the results of the tests.\n"
        "[conformance.md](conformance.md) explains the rules.",
        file=out,
    )
    for letter, title in groups.items():
        print(f"\n## {title}\n\n| # | rule | tests | result |\n|---|---|---|---|", file=out)
        for rule, sentence in rules.items():
            if rule.rstrip("0123456789") == letter:
                tests = table[rule]
                print(f"| {rule} | {sentence} | {cell(tests)} | {state_of(tests)} |", file=out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", nargs="+", metavar="RESULTS")
    parser.add_argument("--output", type=pathlib.Path)
    arguments = parser.parse_args()
    rules, groups = load_rules()
    table = by_rule([result for path in arguments.results for result in read_results(path)], rules)
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as out:
            write_table(table, rules, groups, out)
    bad = [rule for rule, tests in table.items() if state_of(tests) != "passed"]
    for rule in bad:
        print(f"{rule}: {state_of(table[rule])} {', '.join(n for n, ok in table[rule].items() if not ok)}", file=sys.stderr)
    print(f"{len(table) - len(bad)} of {len(table)} rules hold, by {sum(map(len, table.values()))} tests")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
