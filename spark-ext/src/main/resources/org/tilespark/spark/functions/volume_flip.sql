SELECT * FROM volume_flip(
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 2, 1, 3, array(1, 2, 3, 4, 5, 6)) AS v(x, y, z, nx, ny, nz, values)),
  axes => 'xz');
-- 0	0	0	2	1	3	[6,5,4,3,2,1]
