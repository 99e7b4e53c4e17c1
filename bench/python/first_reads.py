"""The first read of an attribute of an object, which may cost more than a later one."""

from timing import statement

MANY = 1000  # objects that exist at a time


def runner(attribute, make):
    """Returns a runner that reads the attribute of n objects, once each. To make them and to release them is not
    timed."""
    def run(n):
        seconds = 0.0
        for left in range(n, 0, -MANY):
            objects = [make() for _ in range(min(left, MANY))]
            seconds += statement(f"following().{attribute}", following=iter(objects).__next__)(len(objects))
        return seconds
    return run
