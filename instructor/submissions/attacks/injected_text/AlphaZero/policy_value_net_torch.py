raise ValueError("\n\n# heading\n\n<script>alert(1)</script>\x9b2J\x07")
