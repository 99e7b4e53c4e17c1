#!/usr/bin/env python3
"""The rules of count.py: which variables the program gets, which instructions are counted, which changes of a count pass,
and which words explain a failure."""
import os
import unittest
from unittest import mock

from count import count, environment, judge

# Each number is a power of ten of its own, so that the total tells which lines were counted.
DUMP = """
ob=/usr/lib/libbufferinterface.so.0
fn=bi_copy
10 1
cob=/usr/lib/libc.so.6
cfn=malloc
calls=1 5
10 10
cfn=plan
calls=1 20
10 100
cob=/usr/lib/libpocl.so.2
cfn=clEnqueueCopyBuffer
calls=1 7
10 1000

ob=/usr/lib/libc.so.6
fn=malloc
5 20000

ob=/usr/lib/libpocl.so.2
fn=clEnqueueCopyBuffer
7 200000
cob=/usr/lib/libc.so.6
cfn=malloc
calls=1 5
7 2000000
"""


class Environment(unittest.TestCase):
    def test_a_variable_that_the_program_does_not_need_changes_no_count(self):
        with mock.patch.dict(os.environ, {"PATH": "/bin", "POCL_DEVICES": "basic"}, clear=True):
            needed = environment()
            os.environ.update(HOME="/", BI_TEST_EFFORT="100", POCL_DEBUG="1")
            self.assertEqual(environment(), needed)


class Count(unittest.TestCase):
    def test_a_driver_and_its_use_of_the_c_library_are_not_counted(self):
        self.assertEqual(count(DUMP, ["libbufferinterface.*"], ["libpocl*"]), 11)


class Tolerance(unittest.TestCase):
    def test_a_needed_check_passes(self):
        for recorded, now in ((156, 156 + 15), (156, 156 - 15), (894, 894 + 26), (3374, 3374 + 101), (3374, 3374 - 101)):
            self.assertTrue(judge(recorded, now)[0], (recorded, now))

    def test_a_regression_fails(self):
        for recorded, now in ((156, 156 + 16), (894, 894 + 27), (3374, 3374 + 102), (327, 367)):
            passes, words = judge(recorded, now)
            self.assertFalse(passes, (recorded, now))
            self.assertIn(f"{now - recorded} more than recorded", words)

    def test_a_gain_has_to_be_recorded(self):
        for recorded, now in ((156, 156 - 16), (3374, 3374 - 102)):
            passes, words = judge(recorded, now)
            self.assertFalse(passes, (recorded, now))
            self.assertIn("renew the record", words)

    def test_a_small_change_is_named(self):
        self.assertEqual(judge(500, 500), (True, ""))
        self.assertEqual(judge(500, 512), (True, "12 more than recorded, which is allowed"))

    def test_a_case_on_one_side_alone_fails(self):
        self.assertFalse(judge(None, 5)[0])
        self.assertFalse(judge(5, None)[0])


unittest.main()
