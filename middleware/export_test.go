package middleware

// ManyRequests is manyRequests for the tests outside the package.
const ManyRequests = manyRequests
