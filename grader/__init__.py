"""The autograder, room by room; each uses those before it.

confinement  a student's Python and engines run in processes of their own, from which only plain values come back
pipeline     the way of a submission: archive -> workspace -> checks -> results -> report
judge        the checks, what they have in common, and the right answers
student      what a student's kit runs: check, submit
instructor   what the course's people run: release, trust, replay, gradebook
"""
