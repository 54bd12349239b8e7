// Skeleton.
export {};
