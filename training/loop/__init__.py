"""What train.py needs besides the algorithm: files, pictures, the bar, and how a run continues after it was interrupted.

    verifying      an agent against every line of replies
    curves         the learning curves as a table (CSV) and as a picture (SVG)
    estimate       when a run will probably end
    state          a whole run as one file, from which it continues as if nothing had happened
    kept_networks  which file the best network is written to, so that no better one is overwritten
    earlier        what an earlier run left is put aside before a new run begins
    following      follows a run: the bar, the curves, the state
    command        the command line

Students have these modules in their kit. They use the student's modules only through the pipeline that train.py makes.
"""
