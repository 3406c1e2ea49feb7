"""What the paper and its users compare with: each takes (A, b, k) and returns a k-sparse distribution."""
