raise type("<script>alert(1)</script>\x1b[31m", (Exception,), {})("=HYPERLINK(1)\r\n\x1b[2J\u202e<img src=x onerror=alert(1)> ![](http://x) $\\alpha$")
