"""Studies of jobs, paths over several k, and the self-contained page that shows them."""
