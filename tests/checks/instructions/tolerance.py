#!/usr/bin/env python3
"""The rule of count.py: which changes of a count pass, and that the words for the others say what to do."""
import unittest

from count import judge


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
