"""The autograder, room by room; each room uses those before it.

confinement  runs a student's Python and engines in separate processes, from which only plain values come back
pipeline     takes a submission from archive to report: archive -> workspace -> checks -> results -> report
judge        holds the checks, what they have in common, and the correct answers
student      has the commands of a student's kit: check, submit
instructor   has the commands of those who run the course: release, trust, replay, gradebook
"""
