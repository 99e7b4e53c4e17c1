"""The calls of the simulated driver that need a current context are those whose documentation says so.

    contexts.py SOURCE_DIR CUDA_INCLUDE_DIR

In cuda_sim/call.c they are CURRENT or LISTED. In cuda.h their results list CUDA_ERROR_INVALID_CONTEXT. Not compared are
calls of devices and contexts, which come before there is a context, and queries of a pointer, some of which need none.
"""
import re
import sys
from pathlib import Path

NOT_COMPARED = ("cuDevice", "cuCtx", "cuPointerGetAttribute")

source, include = (Path(argument) for argument in sys.argv[1:])
lists = [source / "src/cuda/api.h", source / "tests/simulators/cuda_driver/cuda_driver.h"]
calls = [call for path in lists for call in re.findall(r"\bX\(\w+, (cu\w+), (?:required|optional)", path.read_text())]
traits = dict(re.findall(r"\[ENTRY_(\w+)\] = ([\w |]+),",
                         (source / "tests/simulators/cuda_sim/call.c").read_text()))
documented = {}
for text, call in re.findall(r"/\*\*((?:(?!\*/).)*)\*/\s*(?:__CUDA_DEPRECATED\s+)?CUresult CUDAAPI (\w+)\(",
                             (include / "cuda.h").read_text(), re.DOTALL):
    results = text.partition("\\return")[2].partition("\\sa")[0]
    documented.setdefault(call, "CUDA_ERROR_INVALID_CONTEXT" in results)

compared = failed = 0
for call in calls:
    says = documented.get(call, documented.get(re.sub(r"_v\d$", "", call)))
    if says is None or call.startswith(NOT_COMPARED):
        continue  # an older cuda.h has no newer calls
    compared += 1
    needs = bool({"LISTED", "CURRENT"} & set(traits.get(call, "").split(" | ")))
    if needs != says:
        failed += 1
        print(f"{call}: cuda.h {'lists' if says else 'does not list'} CUDA_ERROR_INVALID_CONTEXT, and call.c has "
              f"{traits.get(call, 'no entry')}")
print(f"{compared} calls compared")
sys.exit(failed > 0 or compared < 60)
