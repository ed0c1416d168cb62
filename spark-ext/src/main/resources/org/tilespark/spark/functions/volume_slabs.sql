SELECT * FROM volume_slabs(
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 2, 1, 2, array(1F, 2F, 3F, 4F)) AS v(x, y, z, nx, ny, nz, values)),
  axis => 'x', thickness => 1)
ORDER BY x;
-- 0	0	0	1	1	2	[1.0,2.0]
-- 1	0	0	1	1	2	[3.0,4.0]
