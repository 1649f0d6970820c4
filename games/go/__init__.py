"""Go: captures, ko, pass, area scoring; suicide is forbidden."""
