SELECT * FROM volume_permute(
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 2, 1, 3, array(1, 2, 3, 4, 5, 6)) AS v(x, y, z, nx, ny, nz, values)),
  axes => 'yzx');
-- 0	0	0	1	3	2	[1,4,2,5,3,6]

SELECT * FROM volume_permute(
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 2, 1, 3, array(1, 2, 3, 4, 5, 6)) AS v(x, y, z, nx, ny, nz, values)),
  axes => array(2, 1, 0));
-- 0	0	0	3	1	2	[1,4,2,5,3,6]
