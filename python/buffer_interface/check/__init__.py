"""The command `python -m buffer_interface check`: what is wrong with a producer or a consumer of arrays.

The protocols are read from their raw structures, so that what is judged is what the producer published. A process of its own
has the producer. If that process crashes or hangs, this is a result, and the check goes on with the next step.

    rules.py         the list of rules, each with its source
    command.py       the processes and the command line
    child.py         the process that has the producer or the consumer
    dictionaries.py  buffers.py  dlpack.py  exchange.py    a producer of each protocol
    consumers.py     arrays for a consumer
    report.py        the text, the JSON object and the page
"""
