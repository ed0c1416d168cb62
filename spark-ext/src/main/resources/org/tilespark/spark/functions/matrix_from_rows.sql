SELECT * FROM matrix_from_rows(
  TABLE(SELECT id, array(float(id), float(id + 1)) AS features FROM range(0, 2, 1, 1)), 'features');
-- 0	0	2	2	[0.0,1.0,1.0,2.0]
SELECT * FROM matrix_from_rows(
  TABLE(SELECT * FROM VALUES ('b', 3, 4), ('a', 1, NULL) AS t(name, x, y)),
  array('x', 'y'), id => 'name', orderBy => 'name', nulls => 'zero');
-- 0	0	2	2	[1,0,3,4]	["a","b"]
