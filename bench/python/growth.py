def run(report, here, quick): pass
