"""What the tests of other libraries share: compiled peers, DLPack by hand, child processes."""
